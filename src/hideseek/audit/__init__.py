"""The main job: say of images, and of the ways in which they may be shared, what leaks and what it costs."""

from hideseek.audit.planning.plan import Plan, make_plan
from hideseek.audit.question import Learning, Question, learning_from
from hideseek.audit.run import audit

__all__ = ["Learning", "Plan", "Question", "audit", "learning_from", "make_plan"]
