import { gitVersion } from '@svc/git'
import { type Finding, good, missing } from '@svc/sandbox'
import { StartupError } from '../startup/startup-error.ts'

/** `git merge-tree --write-tree` came with it. */
const gitLeast = [2, 38]

export async function examineGit(): Promise<Finding> {
  const least = gitLeast.join('.')
  const text = await gitVersion().catch((error: Error) => error)
  if (text instanceof Error)
    return missing(
      'git',
      `cannot be run: ${text.message}`,
      `Install git ${least} or later, such as: apt-get install -y git`,
    )
  const [major = 0, minor = 0] = text.split('.').map(Number)
  const isOld = major < gitLeast[0]! || (major === gitLeast[0] && minor < gitLeast[1]!)
  return isOld ? missing('git', `version ${text}`, `Install git ${least} or later.`) : good('git', `version ${text}`)
}

/** For a command that would otherwise fail at its first repository. */
export async function requireGit(): Promise<void> {
  const { state, says, mend } = await examineGit()
  if (state === 'missing') throw new StartupError(`git: ${says}. ${mend}`)
}
