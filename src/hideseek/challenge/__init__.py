"""The InstaHide challenge: made, attacked and scored in its authors' format, with a leaderboard."""

from hideseek.challenge.attack import chosen_attack, decryption
from hideseek.challenge.files import Challenge, read_challenge, write_challenge
from hideseek.challenge.leaderboard import PUBLISHED, Entry, as_markdown, read_board, write_board
from hideseek.challenge.score import Scores, score, sealed_secret
from hideseek.challenge.submission import read_decryption, write_decryption

__all__ = [
    "PUBLISHED",
    "Challenge",
    "Entry",
    "Scores",
    "as_markdown",
    "chosen_attack",
    "decryption",
    "read_board",
    "read_challenge",
    "read_decryption",
    "score",
    "sealed_secret",
    "write_board",
    "write_challenge",
    "write_decryption",
]
