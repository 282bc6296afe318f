"""Privacy settings of federated projects, and what they really come to."""

from hideseek.federate.claims.check import check_project
from hideseek.federate.claims.records import Assumptions, Report, Setting

__all__ = ["Assumptions", "Report", "Setting", "check_project"]
