// Package grpc has the shape of clients and servers.
package grpc

import "context"

type ServiceRegistrar interface{ RegisterService(desc, impl any) }

type Server struct{}

func (s *Server) RegisterService(desc, impl any) {}

func NewServer(o ...any) *Server { return &Server{} }

type DialOption any

type UnaryInvoker func(ctx context.Context, method string) error

type UnaryClientInterceptor func(ctx context.Context, method string, invoker UnaryInvoker) error

func WithUnaryInterceptor(i UnaryClientInterceptor) DialOption         { return nil }
func WithChainUnaryInterceptor(i ...UnaryClientInterceptor) DialOption { return nil }
func NewClient(target string, o ...DialOption) error                   { return nil }
