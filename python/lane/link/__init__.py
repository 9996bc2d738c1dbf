"""Link: fused op to launches."""
