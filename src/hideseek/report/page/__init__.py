"""An audit as one HTML page."""

from hideseek.report.page.page import write_page

__all__ = ["write_page"]
