-- Everything lies in a schema of its own.
CREATE SCHEMA IF NOT EXISTS "semel";

-- One row for each script that was run.
CREATE TABLE IF NOT EXISTS "semel".migration (
  version    integer     NOT NULL PRIMARY KEY,
  applied_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

INSERT INTO "semel".migration (version) VALUES (0) ON CONFLICT DO NOTHING;
-- Schema 1: one row for each record, found by its digest.
--
-- Only columns that stand still from one claim to its end are indexed, so that
-- Renew, Settle and Release change no index. Half of each page is kept
-- free, and so is what follows a claim written into the page of the claim.

CREATE TABLE "semel".record (
  digest         bytea   NOT NULL PRIMARY KEY,
  fence          bigint  NOT NULL,
  state          text    NOT NULL,
  kept           boolean NOT NULL,
  awaited        boolean NOT NULL,
  attempt        integer NOT NULL,
  owner          bytea   NOT NULL,
  fingerprint    bytea   NOT NULL,
  claimed_ms     bigint  NOT NULL,
  settled_ms     bigint  NOT NULL,
  lease_until_ms bigint  NOT NULL,
  expires_ms     bigint  NOT NULL,
  sweep_ms       bigint  NOT NULL,
  scope          text    NOT NULL,
  name           text    NOT NULL,
  note           text    NOT NULL,
  outcome        bytea
) WITH (fillfactor = 50, vacuum_truncate = false);

-- The table is never small: a plan that was made while it was empty, and is
-- kept while it grows, then uses the index. These 128 pages stay (1 MiB).
INSERT INTO "semel".record
SELECT sha256(i::text::bytea), i, 'released', false, false, 1, '', '', 0, 0, 0, 0, 0, '', '', repeat('.', 1700)
FROM generate_series(1, 256) i;
DELETE FROM "semel".record;

-- Promise 1: no fence twice, even when the sequence was set back. List reads
-- it backwards.
CREATE UNIQUE INDEX record_by_fence ON "semel".record (fence);

-- sweep_ms is never later than a record may go.
CREATE INDEX record_by_sweep ON "semel".record (sweep_ms);

-- Promise 1: nobody hoards fences, so that a later claim has a greater one.
CREATE SEQUENCE "semel".fence AS bigint CACHE 1;

INSERT INTO "semel".migration (version) VALUES (1) ON CONFLICT DO NOTHING;
INSERT INTO semel.record (digest, fence, state, kept, awaited, attempt, owner, fingerprint, claimed_ms, settled_ms, lease_until_ms, expires_ms, sweep_ms, scope, name, note, outcome) VALUES ('\x8535dc4da2777b4e3e3393124306036982068b13e1664d6bf03bbb7866941369', 1, 'completed', true, false, 1, '\x68175dc0498e826b0000000000000001', '\xe8d5b19c6a2fb13e4ba35c1e34728e9c0576698ee991f3044c2a852a4db72b5a', 1795295499897, 1795295499902, 1795295529897, 4948895499902, 4948895499897, 'tenant-7 POST /invoices, ümlaut', 'do value', '', '\x7b2273656d656c223a312c2276616c7565223a7b226964223a31322c226c696e6573223a5b22626f6c7473205c7530303363315c7530303365222c226e757473222c22c39c62656e205c753030323620c3846872656e5c7532303238225d2c2270616964223a6e756c6c7d7d');
INSERT INTO semel.record (digest, fence, state, kept, awaited, attempt, owner, fingerprint, claimed_ms, settled_ms, lease_until_ms, expires_ms, sweep_ms, scope, name, note, outcome) VALUES ('\x63087629b66c157bfcb1692bf31f9e4b5787346d6a9fce9db6536f75724f7bec', 2, 'completed', true, false, 1, '\x68175dc0498e826b0000000000000002', '\x34965b2acdb3dbaf83b51379992bc2ab20f148515eef3b5bf14055230566161e', 1795295499903, 1795295499904, 1795295529903, 4948895499904, 4948895499903, 'tenant-7 POST /invoices, ümlaut', 'do null', '', '\x7b2273656d656c223a312c2276616c7565223a6e756c6c7d');
INSERT INTO semel.record (digest, fence, state, kept, awaited, attempt, owner, fingerprint, claimed_ms, settled_ms, lease_until_ms, expires_ms, sweep_ms, scope, name, note, outcome) VALUES ('\x448af19653e981bc5ef4bd0ebf65e3730cdd80ea3eb2a29c2cd4f09336e68f06', 3, 'completed', true, false, 1, '\x68175dc0498e826b0000000000000003', '\xdcd47702f0044bb807abed79fc7b6c498f5d95f02630b5096351f315abe4f480', 1795295499904, 1795295499905, 1795295529904, 4948895499905, 4948895499904, 'tenant-7 POST /invoices, ümlaut', 'do final', '', '\x7b2273656d656c223a312c226572726f72223a226e6f207375636820637573746f6d65723a20c2ab34c2bb227d');
INSERT INTO semel.record (digest, fence, state, kept, awaited, attempt, owner, fingerprint, claimed_ms, settled_ms, lease_until_ms, expires_ms, sweep_ms, scope, name, note, outcome) VALUES ('\x51c66879e89b609d26fbecf6c2700f7de8058e5425643ce1426490d62c5b3605', 4, 'completed', false, false, 1, '\x68175dc0498e826b0000000000000004', '\xbe89457cbc048f73467cebc6e47481565924b586c127cc711f01a32f766ba7bb', 1795295499906, 1795295499908, 1795295529906, 4948895499908, 4948895499906, 'tenant-7 POST /invoices, ümlaut', 'not kept', '', NULL);
INSERT INTO semel.record (digest, fence, state, kept, awaited, attempt, owner, fingerprint, claimed_ms, settled_ms, lease_until_ms, expires_ms, sweep_ms, scope, name, note, outcome) VALUES ('\x4c29cd15d6590951ceadf3fb8513665d9b016468c4b99b27c5c1084b6fadfc96', 5, 'completed', false, false, 1, '\x68175dc0498e826b0000000000000005', '\xda9825041982591f960c8131753c5522be9fc1cca6da925bae040fc291172b9c', 1795295499909, 1795295499910, 1795295529909, 4948895499910, 4948895499909, 'tenant-7 POST /invoices, ümlaut', 'not kept, known', '', '\x612073756d6d617279');
INSERT INTO semel.record (digest, fence, state, kept, awaited, attempt, owner, fingerprint, claimed_ms, settled_ms, lease_until_ms, expires_ms, sweep_ms, scope, name, note, outcome) VALUES ('\x98bee26e5a017848ce3eee1cc66c2d21e6d4f3a6e27347ef832e257b957c9881', 6, 'unknown', false, false, 1, '\x68175dc0498e826b0000000000000006', '\x6097167a99689d0e0a91891457bfe0686fdea7b8e84dc204662a19c539ffc5e0', 1795295499911, 1795295499912, 1795295529911, 4948895499912, 4948895499911, 'tenant-7 POST /invoices, ümlaut', 'unknown', 'the upstream''s answer broke off: «EOF»', NULL);
INSERT INTO semel.record (digest, fence, state, kept, awaited, attempt, owner, fingerprint, claimed_ms, settled_ms, lease_until_ms, expires_ms, sweep_ms, scope, name, note, outcome) VALUES ('\x387ea8e081cd879ae2b3c4a78cec5f0707bd5cccbc20f860fe2c8aefc88cfa10', 7, 'completed', true, false, 1, '\x68175dc0498e826b0000000000000007', '\x184454c971b2be6c18d7d173d1131c93324bff0d2beb638e0c3ff8624974c12d', 1795295499913, 1795295499913, 1795295529913, 4948895499913, 4948895499913, 'tenant-7 POST /invoices, ümlaut', 'bytes', '', '\x000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f404142434445464748494a4b4c4d4e4f505152535455565758595a5b5c5d5e5f606162636465666768696a6b6c6d6e6f707172737475767778797a7b7c7d7e7f808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9fa0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebfc0c1c2c3c4c5c6c7c8c9cacbcccdcecfd0d1d2d3d4d5d6d7d8d9dadbdcdddedfe0e1e2e3e4e5e6e7e8e9eaebecedeeeff0f1f2f3f4f5f6f7f8f9fafbfcfdfeff');
INSERT INTO semel.record (digest, fence, state, kept, awaited, attempt, owner, fingerprint, claimed_ms, settled_ms, lease_until_ms, expires_ms, sweep_ms, scope, name, note, outcome) VALUES ('\x911d8a4745e06580adba6195f1d136b77dcdd7e2498ad5871382f9ed2d749edb', 8, 'completed', true, false, 1, '\x68175dc0498e826b0000000000000008', '\x95c7cfae0c0f1cb014d87a837bb0cec8e42f406dbef7ccec61f7618c2e7d53bc', 1795295499914, 1795295499914, 1795295529914, 4948895499914, 4948895499914, 'tenant-7 POST /invoices, ümlaut', 'nothing', '', NULL);
INSERT INTO semel.record (digest, fence, state, kept, awaited, attempt, owner, fingerprint, claimed_ms, settled_ms, lease_until_ms, expires_ms, sweep_ms, scope, name, note, outcome) VALUES ('\x0a4932e67dce24629665714b0552e2317ac8926c38000694937dcd1ecb80ff84', 9, 'cancelled', false, false, 1, '\x68175dc0498e826b0000000000000009', '\x0000000000000000000000000000000000000000000000000000000000000000', 1795295499915, 1795295499916, 1795295529915, 4948895499916, 4948895499915, 'tenant-7 POST /invoices, ümlaut', 'cancelled', 'the upstream''s answer broke off: «EOF»', NULL);
INSERT INTO semel.record (digest, fence, state, kept, awaited, attempt, owner, fingerprint, claimed_ms, settled_ms, lease_until_ms, expires_ms, sweep_ms, scope, name, note, outcome) VALUES ('\x6e69fadc32b465e7674aff14997f4472e36fc1f66b26308e9ed749812fe931b5', 10, 'completed', true, false, 1, '\x68175dc0498e826b000000000000000a', '\xe84a0e50ab02951be265c57d73d947fccaab3a549ec9819504d65bc66cf8a689', 1795295499916, 1795295499917, 1795295529916, 4948895499917, 4948895499916, 'be62534d361df723369d20267f0adb9d POST shop.test /plain', 'http /plain', '', '\x010000c9000000630000010085808080000c436f6e74656e742d547970650119746578742f706c61696e3b20636861727365743d7574662d38084c6f636174696f6e010c2f696e766f696365732f313209582d5365766572616c03036f6e65000e74776f2c20c2ab7468726565c2bb000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f404142434445464748494a4b4c4d4e4f505152535455565758595a5b5c5d5e5f606162636465666768696a6b6c6d6e6f707172737475767778797a7b7c7d7e7f808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9fa0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebfc0c1c2c3c4c5c6c7c8c9cacbcccdcecfd0d1d2d3d4d5d6d7d8d9dadbdcdddedfe0e1e2e3e4e5e6e7e8e9eaebecedeeeff0f1f2f3f4f5f6f7f8f9fafbfcfdfeff');
INSERT INTO semel.record (digest, fence, state, kept, awaited, attempt, owner, fingerprint, claimed_ms, settled_ms, lease_until_ms, expires_ms, sweep_ms, scope, name, note, outcome) VALUES ('\x488ff7030f014378a5ce1849419443fd24586ea352982fe6444c94bbf9989744', 11, 'completed', true, false, 1, '\x68175dc0498e826b000000000000000b', '\x94a972737fe3121a19d31bd616576e70ac48679a4d52d16b78d47ddbd802d3ed', 1795295499917, 1795295499918, 1795295529917, 4948895499918, 4948895499917, 'be62534d361df723369d20267f0adb9d POST shop.test /trailer', 'http /trailer', '', '\x010000c800000044000000068280808000084c6f636174696f6e010c2f696e766f696365732f31320c436f6e74656e742d547970650119746578742f706c61696e3b20636861727365743d7574662d386120626f6479010a582d436865636b73756d010439663363');
INSERT INTO semel.record (digest, fence, state, kept, awaited, attempt, owner, fingerprint, claimed_ms, settled_ms, lease_until_ms, expires_ms, sweep_ms, scope, name, note, outcome) VALUES ('\x6885015e352c91ad63ab26167b7716c3ac1ed71012a80c6aac95363a1adc48bf', 12, 'completed', true, false, 1, '\x68175dc0498e826b000000000000000c', '\x4606ccae88d31bcc8dd77c94684ebd90909a75fee912a4deb647da2e25f48bfd', 1795295499918, 1795295499919, 1795295529918, 4948895499919, 4948895499918, 'be62534d361df723369d20267f0adb9d POST shop.test /empty', 'http /empty', '', '\x010000cc000000440000000082808080000c436f6e74656e742d547970650119746578742f706c61696e3b20636861727365743d7574662d38084c6f636174696f6e010c2f696e766f696365732f3132');
INSERT INTO semel.record (digest, fence, state, kept, awaited, attempt, owner, fingerprint, claimed_ms, settled_ms, lease_until_ms, expires_ms, sweep_ms, scope, name, note, outcome) VALUES ('\x2ed7b6f91ff965f6d48283318b0618fe1e6aaa4521b6eccb9ea66bdc91d4d1df', 13, 'completed', true, false, 1, '\x68175dc0498e826b000000000000000d', '\x0faf505859e5c6f49d2dc2b67e32f9f497450850a12ed9bd092fd5d89f9379b8', 1795295499919, 1795295499919, 1795295529919, 4948895499919, 4948895499919, 'be62534d361df723369d20267f0adb9d POST shop.test /refused', 'http /refused', '', '\x010001a600000044000000148280808000084c6f636174696f6e010c2f696e766f696365732f31320c436f6e74656e742d547970650119746578742f706c61696e3b20636861727365743d7574662d387b2270726f626c656d223a22616d6f756e74227d');
INSERT INTO semel.record (digest, fence, state, kept, awaited, attempt, owner, fingerprint, claimed_ms, settled_ms, lease_until_ms, expires_ms, sweep_ms, scope, name, note, outcome) VALUES ('\x06c66f964dd84991839702417a898fa7e078dbf80f63ffd872fae5ffc4601c37', 14, 'completed', false, false, 1, '\x68175dc0498e826b000000000000000e', '\xa887bb980c0a28513c3c7b8c72dd0f372fe41baf59dd80e3bcebfe72a70df649', 1795295499920, 1795295499920, 1795295529920, 4948895499920, 4948895499920, 'be62534d361df723369d20267f0adb9d POST shop.test /long', 'http /long', '', '\x010100c9000000440000000082808080000c436f6e74656e742d547970650119746578742f706c61696e3b20636861727365743d7574662d38084c6f636174696f6e010c2f696e766f696365732f3132');
INSERT INTO semel.record (digest, fence, state, kept, awaited, attempt, owner, fingerprint, claimed_ms, settled_ms, lease_until_ms, expires_ms, sweep_ms, scope, name, note, outcome) VALUES ('\xe9c2ddda6bd79114cb2db8e749ce0bbe080e75bb96d6d2beb648d549adc3372f', 15, 'claimed', false, false, 1, '\x07000000000000000000000000000000', '\x4f6f2f05c1dab2c22bf97f3fefb738ba8776e1d3b227a351efc0659be609934b', 1795295499921, 0, 1795295499922, 4948895499922, 4948895499921, 'tenant-7 POST /invoices, ümlaut', 'abandoned', '', NULL);
SELECT setval('semel.fence', (SELECT max(fence) FROM semel.record));
