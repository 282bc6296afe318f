"""What an audit will do, what it takes, and doing it step by step."""
