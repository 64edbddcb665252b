/** A key on the keyboard. */
export function Kbd({ children }: { children: string }) {
  return (
    <kbd className="rounded-sm border border-b-2 border-edge bg-panel px-1 font-sans text-[0.65625rem]/4 font-medium text-dim">
      {children}
    </kbd>
  )
}
