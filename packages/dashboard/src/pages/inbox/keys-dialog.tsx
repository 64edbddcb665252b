import { KeysDialog } from '../../ui/keys-dialog.tsx'

const keys = [
  ['j', 'Next item'],
  ['k', 'Previous item'],
  ['Enter', 'Open the item'],
  ['e', 'Mark as done'],
  ['h', 'Snooze'],
  ['z', 'Undo'],
  ['?', 'Show keyboard shortcuts'],
] as const

export default function InboxKeys({ onClose }: { onClose: () => void }) {
  return <KeysDialog keys={keys} open onOpenChange={(open) => !open && onClose()} />
}
