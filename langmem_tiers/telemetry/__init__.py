"""What the memory reports to its operator: log records, OpenTelemetry spans and metrics. No business logic."""
