/** A glyph around the point 0 0, some ten pixels wide. It takes the colour of its lane, or says something by a colour of its own. */
import type { Glyph } from "./row-look.ts";

const shield = "M0 -6.5L5.5 -4.5V0C5.5 3.2 3 5.4 0 6.5C-3 5.4 -5.5 3.2 -5.5 0V-4.5Z";

export function GlyphShape({ glyph }: { readonly glyph: Glyph }) {
  switch (glyph) {
    case "turn":
      return <circle r="4.5" />;
    case "message":
      return <path d="M-5 -4.5H5V2.5H0.5L-3 5.5V2.5H-5Z" data-fill="ground" />;
    case "root":
      return (
        <>
          <circle r="5" data-fill="ground" />
          <circle r="1.8" />
        </>
      );
    case "fork":
      return <circle r="4.2" data-fill="ground" />;
    case "nested":
      return <rect x="-4" y="-4" width="8" height="8" rx="1.5" data-fill="ground" />;
    case "return":
      return <rect x="-4" y="-4" width="8" height="8" rx="1.5" />;
    case "merge":
      return <path d="M0 -6.5L6.5 0L0 6.5L-6.5 0Z" />;
    case "adopt":
      return <path d="M0 -6.5L1.8 -2.2L6.4 -2L2.8 0.9L4 5.4L0 2.8L-4 5.4L-2.8 0.9L-6.4 -2L-1.8 -2.2Z" data-tone="ok" />;
    case "reject":
      return <path d="M-4 -4L4 4M4 -4L-4 4" data-tone="bad" data-fill="line" />;
    case "compress":
      return <path d="M-4.5 -5.5H4.5L-4.5 5.5H4.5Z" />;
    case "waiting":
      return (
        <>
          <circle r="6" data-tone="warn" data-fill="ground" />
          <path d="M0 -3.2V0.4L2.4 1.8" data-tone="warn" data-fill="line" />
        </>
      );
    case "decided":
      return (
        <>
          <circle r="6" data-fill="ground" />
          <path d="M-2.8 0.2L-0.8 2.2L2.8 -2" data-fill="line" />
        </>
      );
    case "trouble":
      return (
        <>
          <path d="M-2.5 -6H2.5L6 -2.5V2.5L2.5 6H-2.5L-6 2.5V-2.5Z" data-tone="bad" data-fill="ground" />
          <path d="M0 -3V0.6M0 2.8V3" data-tone="bad" data-fill="line" />
        </>
      );
    case "passed":
      return (
        <>
          <path d={shield} data-tone="ok" data-fill="ground" />
          <path d="M-2.4 -0.4L-0.6 1.6L2.6 -2.4" data-tone="ok" data-fill="line" />
        </>
      );
    case "failed":
      return (
        <>
          <path d={shield} data-tone="bad" data-fill="ground" />
          <path d="M-2 -2.4L2 1.6M2 -2.4L-2 1.6" data-tone="bad" data-fill="line" />
        </>
      );
    case "effect":
      return <circle r="3.4" data-fill="ground" />;
    case "quiet":
      return <circle r="2.4" />;
    default:
      return glyph satisfies never;
  }
}
