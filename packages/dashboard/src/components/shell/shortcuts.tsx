import { KeysDialog } from '../../ui/keys-dialog.tsx'
import { type KeyName, namedKeys } from '../../ui/use-shortcuts.ts'
import { paletteKey, sendKey } from './palette-key.ts'

const everywhere: KeyName[] = [
  [paletteKey.shown, 'Search, jump to a page, or run a command'],
  ['/', 'The same, outside a text box'],
  [sendKey, 'Send what you wrote'],
  ['?', 'Show keyboard shortcuts'],
]

export default function Shortcuts({ onClose }: { onClose: () => void }) {
  return <KeysDialog keys={[...namedKeys(), ...everywhere]} open onOpenChange={(open) => !open && onClose()} />
}
