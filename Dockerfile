# syntax=docker/dockerfile:1
# The image of Semel: one static binary, as a user without rights, with its store in /data.
#
#   docker build -t semel .
#   docker run -p 8080:8080 -v semel:/data semel gateway --upstream http://app:9000
# Give both bases by digest to build the same image again: see Releases in CONTRIBUTING.md.
ARG GO_IMAGE=golang:1.26-alpine
ARG BASE_IMAGE=alpine:3.22

FROM ${GO_IMAGE} AS build
WORKDIR /src
COPY . .
ENV CGO_ENABLED=0 GOCACHE=/go/cache
RUN --mount=type=cache,target=/go go build -trimpath -ldflags='-s -w -buildid=' -o /out/ ./cmd/semel ./examples/invoices/cmd/invoices

FROM ${BASE_IMAGE} AS base
# A number needs no entry in /etc/shadow, which would have the date of the build.
RUN install -d -o 10001 -g 10001 /data
USER 10001:10001
WORKDIR /data
VOLUME /data

# The application of the demo, which compose.yaml puts behind the gateway.
FROM base AS invoices
COPY --from=build /out/invoices /usr/local/bin/
EXPOSE 9000
ENTRYPOINT ["invoices"]

FROM base AS semel
COPY --from=build /out/semel /usr/local/bin/
# Callers reach the gateway from outside of the container; operators do not, unless SEMEL_ADMIN says so.
ENV SEMEL_LISTEN=0.0.0.0:8080 SEMEL_STORE=sqlite:/data/semel.db
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s CMD wget -qO- http://127.0.0.1:8081/readyz || exit 1
ENTRYPOINT ["semel"]
CMD ["gateway"]
