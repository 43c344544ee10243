/** Small drawings: fonts do not have the same signs everywhere. They decorate; whoever uses one says in words what it means. */

const paths = {
  copy: "M5 5V2.5h8.5V11H11M2.5 5H11v8.5H2.5z",
  close: "M4 4l8 8M12 4l-8 8",
  open: "M6 4l4 4-4 4",
  shut: "M4 6l4 4 4-4",
  link: "M6.5 9.5l3-3M7 4.5l1.5-1.5a3 3 0 0 1 4.5 4.5L11.5 9M9 11.5l-1.5 1.5a3 3 0 0 1-4.5-4.5L4.5 7",
  swap: "M3 5.5h9.5L10 3M13 10.5H3.5L6 13",
  yes: "M3 8.5l3.5 3.5L13 4.5",
  warn: "M8 3v6.5M8 12.4v.2",
  download: "M8 2.5v7.5M4.5 7L8 10.5 11.5 7M2.5 13.5h11",
  find: "M7 2.5a4.5 4.5 0 1 1 0 9 4.5 4.5 0 0 1 0-9M10.5 10.5l3 3",
} as const;

export function Icon({ name }: { readonly name: keyof typeof paths }) {
  return (
    <svg width="14" height="14" viewBox="0 0 16 16" fill="none" stroke="currentColor" strokeWidth="1.5" aria-hidden="true">
      <path d={paths[name]} strokeLinecap="round" strokeLinejoin="round" />
    </svg>
  );
}
