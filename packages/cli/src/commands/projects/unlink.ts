import { command } from '../../arguments/command.ts'
import { findLinkPath, removeLink } from '../../config/link-file.ts'
import { green } from '../../terminal/output.ts'

export const unlink = command({
  summary: 'Remove the link of this folder, or of the nearest linked one above it',
  scope: 'nothing',
  examples: ['svc projects unlink', 'svc projects unlink --json'],
  async run({ io, out }) {
    // Only needs the path: an unreadable file can still be removed.
    const path = await findLinkPath(io.cwd)
    if (path !== null) await removeLink(path)
    if (out.json) out.document({ removed: path })
    else if (path === null) out.note('No linked folder found here or above.')
    else out.line(green('✓ '), `Removed ${path}`)
  },
})
