import type { FileDiffMetadata } from '@pierre/diffs'
import { visible, visibleName } from '../../../ui/drawn/visible.ts'

const known = new WeakMap<FileDiffMetadata, FileDiffMetadata>()

/**
 * What the viewer draws of a file: a line that shows other than it runs is a way to get a change past its reader. The parsed
 * patch stays as it is, for comments quote it. The same answer for the same file, or the viewer would draw it again.
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
