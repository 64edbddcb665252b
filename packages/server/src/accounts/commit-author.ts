/** A person as the author of a commit that the service makes for them. */
import type { Row } from '../db/schema.ts'

/** git refuses a name that has only these, and leaves out the ones around it. */
const hasName = /[^\s.,:;<>"\\']/

/** The id stands in for what is missing: no address of the service, which would make them an agent. */
export function commitAuthor({ user_id, name, email }: Pick<Row<'users'>, 'user_id' | 'name' | 'email'>): {
  name: string
  email: string
} {
  const plain = name.replace(/[\s\p{Cc}<>]+/gu, ' ').trim()
  return { name: hasName.test(plain) ? plain : user_id, email: email ?? user_id }
}
