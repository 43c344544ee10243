/** The inspector as static files inside the package, next to the server that hands them out. */
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

/** Where `npm run dev --workspace inspector` finds a server: `openrath dev --no-open`. */
const server = process.env["OPENRATH_URL"] ?? "http://127.0.0.1:7284";

export default defineConfig({
  root: import.meta.dirname,
  // Served from wherever the server is mounted.
  base: "./",
  plugins: [react()],
  build: {
    outDir: "../dist/inspector",
    emptyOutDir: true,
    target: "es2023",
    // Everything is a file: the policy of the page allows no inlined content but pictures.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 1000,
    // The notices of what is bundled: their licences ask for them.
    license: { fileName: "THIRD-PARTY.md" },
  },
  server: { proxy: { "/v1": server } },
});
