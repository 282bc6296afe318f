"""What is proved: pure functions from noise to ε, δ, TPR at FPR, and back."""
