import type { FileDiffMetadata } from '@pierre/diffs'
import { visible, visibleName } from '../../../ui/sanitizing-jsx/visible.ts'

const known = new WeakMap<FileDiffMetadata, FileDiffMetadata>()

/**
 * The file with its hidden characters made visible, because they can hide a change from its reviewer. The parsed patch stays
 * unchanged for quotes in comments. The same file gives the same object, so that the viewer does not render it again.
 */
export function visibleDiff(view: FileDiffMetadata): FileDiffMetadata {
  let made = known.get(view)
  if (made === undefined) {
    made = {
      ...view,
      name: visibleName(view.name),
      ...(view.prevName === undefined ? {} : { prevName: visibleName(view.prevName) }),
      additionLines: view.additionLines.map(visible),
      deletionLines: view.deletionLines.map(visible),
    }
    known.set(view, made)
  }
  return made
}
