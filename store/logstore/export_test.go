package logstore

// Small are the settings of a log with small segments.
func Small(segment int64) *Options { return &Options{segment: segment} }
