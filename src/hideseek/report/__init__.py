"""Showing what happened."""

from hideseek.report.contact_sheet import Row, contact_sheet

__all__ = ["Row", "contact_sheet"]
