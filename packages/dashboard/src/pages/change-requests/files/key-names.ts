import type { KeyName } from '../../../ui/use-shortcuts.ts'

export const keyNames: KeyName[] = [
  ['j', 'Next file'],
  ['k', 'Previous file'],
  ['n', 'Next unviewed file'],
  ['v', 'Mark as viewed or not viewed'],
  ['↓', 'Next line of the file'],
  ['↑', 'Previous line of the file'],
  ['c', 'Comment on that line, or on the first changed one'],
  ['h', 'Show how the change at that line was written'],
  ['s', 'Switch between split and unified'],
  ['w', 'Show or hide whitespace changes'],
]
