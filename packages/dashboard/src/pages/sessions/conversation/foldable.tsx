import type { ComponentProps } from 'react'

/** An unfolded part stays unfolded after it was scrolled out of the document. */
const unfolded = new Set<string>()

export function Foldable({
  id,
  onFold,
  ...rest
}: ComponentProps<'details'> & { id: string; onFold?: (isOpen: boolean) => void }) {
  return (
    <details
      {...rest}
      open={unfolded.has(id)}
      onToggle={({ currentTarget: { open } }) => {
        if (open) unfolded.add(id)
        else unfolded.delete(id)
        onFold?.(open)
      }}
    />
  )
}

export const unfold = (id: string) => unfolded.add(id)

export const isUnfolded = (id: string) => unfolded.has(id)
