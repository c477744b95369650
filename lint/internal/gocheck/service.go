package gocheck

import (
	"go/ast"
	"go/constant"
	"go/types"
	"regexp"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
)

var registers = regexp.MustCompile(`^Register(\w+)Server$`)

// services adds the methods of a gRPC service where it is registered: pb.RegisterOrdersServer(s, &orders{}).
func (c *collector) services(call *ast.CallExpr) {
	fn, ok := c.callee(call)
	if !ok || len(call.Args) != 2 || fn.Signature().Params().Len() != 2 {
		return
	}
	m := registers.FindStringSubmatch(fn.Name())
	contract, isInterface := fn.Signature().Params().At(1).Type().Underlying().(*types.Interface)
	of := c.pass.TypesInfo.TypeOf(call.Args[1])
	if m == nil || !isInterface || of == nil || types.IsInterface(of) {
		return
	}
	guarded := c.guarded(call)
	for wanted := range contract.Methods() {
		object, _, _ := types.LookupFieldOrMethod(of, true, wanted.Pkg(), wanted.Name())
		impl, ok := object.(*types.Func)
		if !ok || !wanted.Exported() {
			continue
		}
		f := &function{Guarded: guarded}
		c.mention(f, impl, call.Pos())
		c.addRoute(&route{What: "gRPC " + m[1] + "/" + wanted.Name(), Method: m[1] + "/" + wanted.Name(), Handler: f}, call)
	}
}

const maxDescriptorBytes = 1 << 20

// descriptors notes the gRPC methods of generated code whose option idempotency_level is set.
func (c *collector) descriptors() {
	for _, file := range c.files() {
		for _, decl := range file.Decls {
			d, ok := decl.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range d.Specs {
				if v, ok := spec.(*ast.ValueSpec); ok && len(v.Values) == 1 && strings.HasSuffix(v.Names[0].Name, "_rawDesc") {
					c.summary.Declared = append(c.summary.Declared, declared(c.bytes(v.Values[0]))...)
				}
			}
		}
	}
}

// bytes are those of a constant text, or of a literal slice of bytes.
func (c *collector) bytes(x ast.Expr) (text []byte) {
	if s, ok := c.text(x); ok {
		return []byte(s)
	}
	literal, ok := x.(*ast.CompositeLit)
	if !ok || len(literal.Elts) > maxDescriptorBytes {
		return nil
	}
	for _, e := range literal.Elts {
		v := c.pass.TypesInfo.Types[e].Value
		if v == nil {
			return nil
		}
		n, ok := constant.Uint64Val(constant.ToInt(v))
		if !ok || n > 255 {
			return nil
		}
		text = append(text, byte(n))
	}
	return text
}

// declared are the methods in the descriptor of a file that say of themselves that they may be repeated.
func declared(text []byte) (methods []string) {
	var file descriptorpb.FileDescriptorProto
	if len(text) == 0 || len(text) > maxDescriptorBytes || proto.Unmarshal(text, &file) != nil {
		return nil
	}
	for _, s := range file.GetService() {
		for _, m := range s.GetMethod() {
			if m.GetOptions().GetIdempotencyLevel() != descriptorpb.MethodOptions_IDEMPOTENCY_UNKNOWN {
				methods = append(methods, s.GetName()+"/"+m.GetName())
			}
		}
	}
	slices.Sort(methods)
	return methods
}
