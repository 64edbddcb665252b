/** Refuses a folder of another user, and names that user. The client looks as the server does, since it writes the log there first. */
import { quote } from './shell-words.ts'

interface Owner {
  uid: number
  /** The text of `/etc/passwd`, which may lack users of a directory service. */
  passwd: string
}

/** With how this program is called: it need not be on the PATH of that user. */
interface AsOwner extends Owner {
  /** Words for a shell. */
  program: string
}

/** Null: the folder is root's or the caller's own. */
export function foreignFolderRefusal(folder: string, owner: AsOwner & { own: number }): string | null {
  const { uid, own } = owner
  if (uid === 0 || uid === own) return null
  const says = `The data folder ${folder} belongs to ${ownerName(owner)}.`
  const asOwner = `Run this command as that user, with the same settings: ${asUser(owner)}`
  if (own === 0) return `${says} Root would take files of that user over. ${asOwner}`
  return `${says} ${asOwner} Or set SVC_DATA_DIR to a folder of your own. If that user has no server there and it is to be yours: sudo chown -R ${own} ${quote(folder)}`
}

/** As in `another user (ada, 1000)`. */
export function ownerName(owner: Owner): string {
  const name = nameOf(owner)
  return `another user (${name === null ? '' : `${name}, `}${owner.uid})`
}

/** With the home folder of that user, where saved settings and the master key are. */
export function asUser(owner: AsOwner, command = '…'): string {
  return `sudo -Hu ${nameOf(owner) ?? `'#${owner.uid}'`} ${owner.program} ${command}`
}

function nameOf(owner: Owner): string | null {
  return entryOf(owner)?.[0] ?? null
}

export function homeOf(owner: Owner): string | null {
  return entryOf(owner)?.[5] || null
}

function entryOf({ uid, passwd }: Owner): string[] | null {
  const fields = passwd.split('\n').map((line) => line.split(':'))
  return fields.find((each) => each[2] === String(uid)) ?? null
}
