/** A dialog with a field that finds and a list of what it found. What is found, and how, is up to its user. */
import { Autocomplete } from '@base-ui/react/autocomplete'
import { Dialog } from '@base-ui/react/dialog'
import type { ComponentProps, ReactNode } from 'react'

export const SearchRoot = Autocomplete.Root

/** Every search dialog passes these options to its `SearchRoot`. */
export const searchOptions = { open: true, inline: true, autoHighlight: 'always', keepHighlight: true } as const

export function SearchDialog({
  label,
  onClose,
  children,
}: {
  label: string
  onClose: () => void
  children: ReactNode
}) {
  return (
    <Dialog.Root open onOpenChange={(open) => !open && onClose()}>
      <Dialog.Portal>
        <Dialog.Backdrop className="fixed inset-0 z-40 bg-black/40" />
        <Dialog.Popup
          aria-label={label}
          className="fixed top-[12vh] left-1/2 z-50 flex max-h-[min(28rem,76dvh)] w-[min(38rem,calc(100vw-2rem))] -translate-x-1/2 flex-col overflow-hidden rounded-lg border border-edge bg-raised shadow-float outline-none"
        >
          {children}
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}

export function SearchInput({ label, ...field }: { label: string; placeholder: string; onFocus?: () => void }) {
  return (
    <Autocomplete.Input
      aria-label={label}
      {...field}
      className="h-11 flex-none border-b border-line bg-transparent px-4 text-lg outline-none placeholder:text-faint"
    />
  )
}

export function SearchList({ children }: Pick<ComponentProps<typeof Autocomplete.List>, 'children'>) {
  return (
    <Autocomplete.List className="min-h-0 overflow-y-auto overscroll-contain p-1 empty:hidden">
      {children}
    </Autocomplete.List>
  )
}

export function SearchItem(of: { value: unknown; onClick: () => void; children: ReactNode }) {
  return (
    <Autocomplete.Item
      {...of}
      className="flex min-h-8 cursor-pointer items-center gap-3 rounded-md px-3 text-base outline-none data-highlighted:bg-accent-soft"
    />
  )
}
