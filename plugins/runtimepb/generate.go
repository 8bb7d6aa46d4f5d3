// Package runtimepb is the wire form of the adapter contract: runtime.proto and
// what protoc makes of it. Nothing is written here by hand but this file.
//
// An adapter in Go implements [github.com/reseat-dev/reseat/plugins.Runtime]
// and never meets these types; one in another language starts from the .proto.
package runtimepb

//go:generate go build -o .bin/protoc-gen-go google.golang.org/protobuf/cmd/protoc-gen-go
//go:generate go build -o .bin/protoc-gen-go-grpc google.golang.org/grpc/cmd/protoc-gen-go-grpc
//go:generate protoc --plugin=protoc-gen-go=.bin/protoc-gen-go --plugin=protoc-gen-go-grpc=.bin/protoc-gen-go-grpc --go_out=. --go_opt=paths=source_relative --go-grpc_out=. --go-grpc_opt=paths=source_relative runtime.proto
//go:generate rm -r .bin
