// A package by other people: a store on Redis. A plain object, checked by our suite. (Its sandbox half comes with sandboxes.)
import { openrath } from "openrath";
import { storeConformance } from "openrath/testing";
import { redisStore } from "./redis-store.ts";

export const rath = openrath({ store: redisStore("redis://…") });

// redis.test.ts, whole
storeConformance({
  name: "redis",
  create: () => redisStore("redis://…"),
  skip: [{ test: "reopen after crash", reason: "test server keeps nothing" }],
});
