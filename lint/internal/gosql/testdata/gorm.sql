CREATE TABLE users (id bigserial PRIMARY KEY, created_at timestamptz, updated_at timestamptz, deleted_at timestamptz, email text UNIQUE, name text, level text);
CREATE TABLE orders (id bigserial PRIMARY KEY, ref text, status text NOT NULL, n bigint NOT NULL, version bigint NOT NULL);
CREATE TABLE shop_notes (ref varchar(40) PRIMARY KEY, n bigint NOT NULL, seen_at timestamptz, by text);
CREATE TABLE tags (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), name text NOT NULL);
CREATE TABLE hooked (id bigserial PRIMARY KEY, name text);
CREATE TABLE carts (id bigserial PRIMARY KEY, owner text NOT NULL UNIQUE);
CREATE TABLE items (id bigserial PRIMARY KEY, cart_id bigint, sku text);
CREATE TABLE readings (sensor text, at bigint, value double precision, updated_at bigint, PRIMARY KEY (sensor, at));
