"""Who may do what with rubrics, versions, the marketplace, keys, runs and reviews: functions of a connection."""
