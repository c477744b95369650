package redisstore_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/redisstore"
)

// tagged are parameters whose key is in the slot of that tag.
func tagged(tag uint16, n uint64) semel.ClaimParams {
	p := params(fmt.Sprint(tag, "/", n))
	binary.BigEndian.PutUint16(p.Digest[:], tag)
	return p
}

func clusterDSN(servers *testserver.RedisClusterServers) string {
	addrs := servers.Addrs()
	return "redis://" + addrs[0] + "?cluster=true&addr=" + addrs[1] + "&addr=" + addrs[2]
}

// Promises 1 and 2, at every stage of a slot's way from one node to another: what was
// claimed before stays claimed, and what is claimed on the way is won once.
func TestSlotMoves(t *testing.T) {
	t.Parallel()
	const tag = 0x1234
	servers := testserver.StartRedisCluster(t, 3)
	one, two := open(t, clusterDSN(servers), nil), open(t, clusterDSN(servers), nil)
	slot := servers.Slot(redisstore.Key(one, tagged(tag, 0).Digest))
	to := (servers.Owner(slot) + 1) % 3

	before, done := wins(t, one, tagged(tag, 1)), wins(t, one, tagged(tag, 2))
	settles(t, one, done, completed("answer"))
	var all []semel.Record
	stage := func(n uint64) {
		t.Helper()
		rec := wins(t, two, tagged(tag, n))
		all = append(all, rec)
		for i := range all {
			if i > 0 && all[i].Fence <= all[i-1].Fence {
				t.Errorf("fence %d was given after %d", all[i].Fence, all[i-1].Fence)
			}
			stands, won, err := one.Claim(t.Context(), by(2, tagged(tag, n-uint64(len(all)-1-i))))
			if err != nil || won || stands.Fence != all[i].Fence {
				t.Errorf("stage %d: won %v, fence %d, error %v, want the claim of fence %d", n, won, stands.Fence, err, all[i].Fence)
			}
		}
		if err := two.Renew(t.Context(), before.Digest, before.Fence, lease); err != nil {
			t.Errorf("stage %d: renew: %v", n, err)
		}
		if replay, won, err := two.Claim(t.Context(), by(2, tagged(tag, 2))); err != nil || won || string(replay.Outcome) != "answer" {
			t.Errorf("stage %d: got %q, won %v, error %v, want the first answer", n, replay.Outcome, won, err)
		}
	}
	stage(10)
	move := servers.BeginMove(slot, to)
	stage(11)
	move.Keys()
	stage(12)
	move.Finish()
	stage(13)
	for _, rec := range all {
		settles(t, one, rec, completed("answer"))
	}
	settles(t, one, before, semel.Settlement{State: semel.StateReleased})
}

// Promise 1, while the slot of all the intents goes from node to node: of many
// that claim one intent at once, exactly one wins.
func TestSlotMovesWhileRacing(t *testing.T) {
	t.Parallel()
	const tag, claimers = 0xbeef, 6
	servers := testserver.StartRedisCluster(t, 3)
	stores := []*redisstore.Store{open(t, clusterDSN(servers), nil), open(t, clusterDSN(servers), nil), open(t, clusterDSN(servers), nil)}
	slot := servers.Slot(redisstore.Key(stores[0], tagged(tag, 0).Digest))
	owner := servers.Owner(slot)

	moved := make(chan struct{})
	go func() {
		defer close(moved)
		for range 6 {
			owner = (owner + 1) % 3
			servers.MoveSlot(slot, owner)
		}
	}()
	rounds, repeats := 0, 0
	for under := true; under; rounds++ {
		select {
		case <-moved:
			under = false // once more, at rest
		default:
		}
		p := tagged(tag, uint64(rounds))
		recs, wons := make([]semel.Record, claimers), make([]bool, claimers)
		var mu sync.Mutex // guards repeats
		var wg sync.WaitGroup
		for i := range claimers {
			wg.Go(func() {
				for try := 0; ; try++ {
					rec, won, err := stores[i%len(stores)].Claim(t.Context(), by(byte(i+1), p))
					if err == nil {
						recs[i], wons[i] = rec, won
						return
					}
					if try == 1000 {
						t.Error(err)
						return
					}
					mu.Lock()
					repeats++
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		winners := 0
		for i := range recs {
			if wons[i] {
				winners++
			}
			if recs[i].Fence != recs[0].Fence {
				t.Errorf("round %d: two claimers were shown the fences %d and %d", rounds, recs[0].Fence, recs[i].Fence)
			}
		}
		if winners != 1 {
			t.Fatalf("round %d: %d winners, want 1", rounds, winners)
		}
		if rounds%2 == 0 {
			to := semel.Settlement{State: semel.StateReleased}
			err := errors.New("not settled yet")
			for try := 0; try < 1000 && err != nil; try++ {
				err = stores[0].Settle(t.Context(), p.Digest, recs[0].Fence, to)
			}
			if err != nil {
				t.Errorf("round %d: release: %v", rounds, err)
			}
		}
	}
	t.Logf("%d rounds, %d repeats", rounds, repeats)
	if rounds < 6 {
		t.Errorf("%d rounds while the slot moved: the test showed nothing", rounds)
	}
}
