import { Dialog } from '@base-ui/react/dialog'
import { X } from 'lucide-react'
import { Sidebar } from './sidebar.tsx'

/** The sidebar on a narrow screen. Its code loads when it is opened. */
export default function Drawer({ onClose, onSearch }: { onClose: () => void; onSearch: () => void }) {
  return (
    <Dialog.Root open onOpenChange={(open) => !open && onClose()}>
      <Dialog.Portal>
        <Dialog.Backdrop className="fixed inset-0 z-40 bg-black/50" />
        <Dialog.Popup className="fixed inset-y-0 left-0 z-50 w-72 max-w-[calc(100vw-3rem)] border-r border-line bg-side outline-none">
          <Dialog.Title className="sr-only">Menu</Dialog.Title>
          <Dialog.Close
            aria-label="Close menu"
            className="absolute top-1.5 right-2 grid size-9 place-items-center rounded-md text-dim hover:bg-hover"
          >
            <X aria-hidden className="size-4.5" />
          </Dialog.Close>
          <Sidebar onSearch={onSearch} />
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}
