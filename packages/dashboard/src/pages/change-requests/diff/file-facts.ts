import { visibleName } from '../../../ui/sanitizing-jsx/visible.ts'
import type { ChangedFile } from '../files/changed-files.ts'
import { fileType, sizeChange } from './file-type.ts'

/** Says in words how a file changed whose lines the page does not show. */
export function factsOf(file: Pick<ChangedFile, Facts>): string {
  const { path, oldPath, reason, modes, oldSize, newSize } = file
  const moved = [
    ...(oldPath !== null && oldPath !== path ? [`Was ${visibleName(oldPath)}`] : []),
    ...(modes === null ? [] : [`Mode ${modes.before} → ${modes.after}`]),
  ]
  if (reason === 'truncated') return [...moved, 'Too large to show'].join('. ')
  if (reason === 'empty') return moved.length === 0 ? 'Empty file' : [...moved, 'No changed lines'].join('. ')
  if (reason === null) return moved.join('. ')
  const sizes = sizeChange(oldSize, newSize)
  return [...moved, `${fileType(path)}${sizes === '' ? '' : `, ${sizes}`}`].join('. ')
}

type Facts = 'path' | 'oldPath' | 'reason' | 'modes' | 'oldSize' | 'newSize'
