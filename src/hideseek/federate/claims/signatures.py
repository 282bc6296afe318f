"""The privacy settings that are looked for in Python: which package has them, and the order of their arguments."""

CENTRAL = ("strategy", "noise_multiplier", "clipping_norm", "num_sampled_clients")
ADAPTIVE = (
    "strategy",
    "noise_multiplier",
    "num_sampled_clients",
    "initial_clipping_norm",
    "target_clipped_quantile",
    "clip_norm_lr",
    "clipped_count_stddev",
)
SVT = ("fraction", "epsilon", "noise_var", "gamma", "tau", "data_kinds", "replace")
SIGNATURES: dict[str, tuple[str, tuple[str, ...]]] = {
    "LocalDpMod": ("flwr", ("clipping_norm", "sensitivity", "epsilon", "delta")),
    "fixedclipping_mod": ("flwr", ()),
    "adaptiveclipping_mod": ("flwr", ()),
    "secaggplus_mod": ("flwr", ()),
    "secagg_mod": ("flwr", ()),
    "DPFedAvgNumPyClient": ("flwr", ()),
    "DifferentialPrivacyServerSideFixedClipping": ("flwr", CENTRAL),
    "DifferentialPrivacyClientSideFixedClipping": ("flwr", CENTRAL),
    "DifferentialPrivacyServerSideAdaptiveClipping": ("flwr", ADAPTIVE),
    "DifferentialPrivacyClientSideAdaptiveClipping": ("flwr", ADAPTIVE),
    "DPFedAvgFixed": ("flwr", ("strategy", "num_sampled_clients", "clip_norm", "noise_multiplier")),
    "DPFedAvgAdaptive": ("flwr", ("strategy", "num_sampled_clients", "init_clip_norm", "noise_multiplier")),
    "PrivacyConfig": ("flwr", ()),
    "SVTPrivacy": ("nvflare", SVT),
    "PercentilePrivacy": ("nvflare", ("percentile", "gamma")),
    "ExcludeVars": ("nvflare", ()),
    "StatisticsPrivacyFilter": ("nvflare", ()),
    "HEModelEncryptor": ("nvflare", ()),
}
"""The package that has a setting, and the order of its arguments."""
METHODS = ("make_private", "make_private_with_epsilon")  # of Opacus' PrivacyEngine; no other library has these names
MODS = ("LocalDpMod", "fixedclipping_mod", "adaptiveclipping_mod", "secaggplus_mod", "secagg_mod")
FUNCTIONS = tuple(name for name in SIGNATURES if name.endswith("_mod"))
