module github.com/semel-dev/semel/adapters/golangci

go 1.26.0

require (
	github.com/golangci/plugin-module-register v0.1.2
	github.com/semel-dev/semel/lint v0.1.0
	golang.org/x/tools v0.52.0
)

require (
	filippo.io/edwards25519 v1.2.0 // indirect
	github.com/go-sql-driver/mysql v1.10.1 // indirect
	github.com/goccy/go-yaml v1.19.2 // indirect
	github.com/jinzhu/inflection v1.0.0 // indirect
	github.com/semel-dev/semel v0.1.0 // indirect
	github.com/semel-dev/semel/schema v0.1.0 // indirect
	github.com/sqlc-dev/marino v0.3.1 // indirect
	github.com/sqlc-dev/meyer v0.1.2 // indirect
	github.com/sqlc-dev/oliphant v0.2.0 // indirect
	golang.org/x/mod v0.42.0 // indirect
	golang.org/x/sync v0.24.0 // indirect
	golang.org/x/text v0.43.0 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)
