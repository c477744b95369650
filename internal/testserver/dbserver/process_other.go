//go:build !unix

package dbserver

import "os/exec"

const supported = false

func detach(*exec.Cmd) {}

func reap(int) bool { return true }

func sendSignal(int, string) {}

func killTree(int) []int { return nil }

func gone([]int) bool { return true }
