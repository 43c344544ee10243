// Two packages by other people: a sandbox on Firecracker and a store on Redis. Plain objects, checked by our suites.
import { openrath } from "openrath";
import { sandboxConformance, storeConformance } from "openrath/testing";
import { firecracker } from "./firecracker.ts";
import { redisStore } from "./redis-store.ts";

export const rath = openrath({ store: redisStore("redis://…"), sandboxes: { firecracker: firecracker({ kernel: "/vmlinux" }) } });
const placed = rath.session("uname -a").to("firecracker", { workspace: "./repo", network: { allow: ["api.example.com"] } });
console.log(placed.placement?.sandbox);

// firecracker.test.ts and redis.test.ts, whole
sandboxConformance({ name: "firecracker", create: () => firecracker({ kernel: "/vmlinux" }) });
storeConformance({
  name: "redis",
  create: () => redisStore("redis://…"),
  skip: [{ test: "reopen after crash", reason: "test server keeps nothing" }],
});
