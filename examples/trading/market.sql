-- The desk's database as a trading day begins: whole dollars, whole shares. A limit order is filled at once or stays open.
BEGIN;
CREATE TABLE instruments (symbol TEXT PRIMARY KEY, price INTEGER NOT NULL, restricted INTEGER NOT NULL) STRICT;
CREATE TABLE clients (id TEXT PRIMARY KEY, name TEXT NOT NULL, cash INTEGER NOT NULL, bank INTEGER NOT NULL, day_limit INTEGER NOT NULL) STRICT;
CREATE TABLE holdings (
  client TEXT NOT NULL REFERENCES clients,
  symbol TEXT NOT NULL REFERENCES instruments,
  quantity INTEGER NOT NULL,
  PRIMARY KEY (client, symbol)
) STRICT;
CREATE TABLE orders (
  id INTEGER PRIMARY KEY,
  client TEXT NOT NULL REFERENCES clients,
  side TEXT NOT NULL CHECK (side IN ('buy', 'sell')),
  symbol TEXT NOT NULL REFERENCES instruments,
  quantity INTEGER NOT NULL CHECK (quantity > 0),
  price INTEGER NOT NULL CHECK (price > 0),
  status TEXT NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'filled', 'cancelled'))
) STRICT;

-- What was changed under which key: a call that is made again after a crash finds its result here.
CREATE TABLE effects (key TEXT PRIMARY KEY, before TEXT NOT NULL, after TEXT NOT NULL) STRICT;

-- All that a client has, as one JSON text.
CREATE VIEW accounts AS SELECT id AS client, json_object(
  'name', name, 'cash', cash, 'bank', bank, 'dayLimit', day_limit,
  'holdings', (SELECT json(json_group_object(symbol, quantity)) FROM (SELECT * FROM holdings WHERE client = clients.id ORDER BY symbol)),
  'orders', (SELECT json_group_array(json_object('id', id, 'side', side, 'symbol', symbol, 'quantity', quantity, 'price', price, 'status', status))
    FROM (SELECT * FROM orders WHERE client = clients.id ORDER BY id))
) AS account FROM clients;

CREATE VIEW market AS SELECT json_group_array(json_object('symbol', symbol, 'price', price, 'restricted', restricted)) AS instruments FROM instruments;

-- The same in single sentences, so that what differs can be named.
CREATE VIEW facts AS SELECT id || ' has cash ' || cash || ', bank ' || bank AS fact FROM clients
  UNION ALL SELECT client || ' holds ' || quantity || ' ' || symbol FROM holdings
  UNION ALL SELECT client || ' has the order ' || id || ': ' || side || ' ' || quantity || ' ' || symbol || ' at ' || price || ', ' || status FROM orders;

CREATE TRIGGER fill AFTER INSERT ON orders
WHEN iif(NEW.side = 'buy', 1, -1) * (NEW.price - (SELECT price FROM instruments WHERE symbol = NEW.symbol)) >= 0
BEGIN
  UPDATE orders SET status = 'filled' WHERE id = NEW.id;
  UPDATE clients SET cash = cash - iif(NEW.side = 'buy', 1, -1) * NEW.quantity * (SELECT price FROM instruments WHERE symbol = NEW.symbol)
    WHERE id = NEW.client;
  INSERT INTO holdings VALUES (NEW.client, NEW.symbol, iif(NEW.side = 'buy', 1, -1) * NEW.quantity)
    ON CONFLICT DO UPDATE SET quantity = quantity + excluded.quantity;
END;

INSERT INTO instruments VALUES ('ORB', 120, 0), ('QNT', 310, 0), ('LUM', 45, 0), ('HEX', 80, 1);
INSERT INTO clients VALUES
  ('C-1', 'Ana Ferreira', 30000, 5000, 40000),
  ('C-2', 'Ben Okoye', 90000, 0, 50000),
  ('C-3', 'Carla Weiss', 20000, 2000, 20000),
  ('C-4', 'Dev Rao', 1000, 500, 40000);
INSERT INTO holdings VALUES ('C-1', 'LUM', 200), ('C-2', 'ORB', 50), ('C-4', 'ORB', 120);
INSERT INTO orders (client, side, symbol, quantity, price) VALUES ('C-1', 'buy', 'ORB', 100, 95);
COMMIT;
