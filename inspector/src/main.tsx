/** Starts the inspector: lets this browser in, if the address brings a code, and shows the screen that the address names. */
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { RathError } from "../../src/client/client.ts";
import { enter } from "./access.ts";
import { ClientProvider } from "./client.tsx";
import { router } from "./router.tsx";
import { startTheme } from "./shell/theme.ts";
import "./theme.css";

startTheme();
const problem = await enter().then(
  () => undefined,
  (error: unknown) => error,
);

/** The client repeats what may be repeated by itself. What is on record does not change: only lists are asked again. */
const queries = new QueryClient({
  defaultOptions: { queries: { retry: false, staleTime: 5000, refetchOnWindowFocus: false, throwOnError: false } },
});

createRoot(document.getElementById("root") as HTMLElement).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <ClientProvider problem={RathError.is(problem) ? problem : undefined}>
        <RouterProvider router={router} />
      </ClientProvider>
    </QueryClientProvider>
  </StrictMode>,
);
