"""What ops and launches compute, once: functions of numpy float64 arrays, without names, forms or memory."""
