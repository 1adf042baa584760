// Package schema describes the API in two forms: as an OpenAPI document, and as types for the web app. Both are made of
// the tables of package api, and of the Go types of the answers.
//
//	go generate ./internal/api/schema
package schema

//go:generate go test -run TestFiles -update
