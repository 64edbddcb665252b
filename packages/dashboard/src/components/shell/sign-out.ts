import { api, reply } from '../../api.ts'
import { paths } from '../../paths.ts'

export async function signOut(): Promise<void> {
  await reply(api.POST('/v1/sign-out'))
  // What was typed here is not for the next user of this tab.
  sessionStorage.clear()
  location.assign(paths.signIn)
}
