/** Changes to members and invitations, for the test that counts audit rows. */
import { randomUUID } from 'node:crypto'
import type { TestApp } from '../testing.ts'

interface Invited {
  invitation_id: string
  sign_in: { url: string }
}

export function memberChanges(app: () => TestApp) {
  const base = () => `/v1/accounts/${app().owner.account_id}`
  async function invited() {
    const headers = await app().browser()
    const body = { email: `${randomUUID()}@example.test` }
    return (await app().request<Invited>('POST', `${base()}/members`, { token: null, headers, body })).body
  }
  const post = (path: string, body?: object) => () => app().request('POST', path, { body })
  const inBrowser = async (path: string, body?: object) => {
    const headers = await app().browser()
    return () => app().request('POST', path, { token: null, headers, body })
  }
  return {
    createAccount: { action: 'account.create', prepare: async () => post('/v1/accounts', { name: 'Another team' }) },
    updateAccount: {
      action: 'account.update',
      prepare: async () => () => app().request('PATCH', base(), { body: { name: `A name ${randomUUID()}` } }),
    },
    addMember: {
      action: 'invitation.create',
      prepare: async () => post(`${base()}/members`, { email: `${randomUUID()}@example.test`, role: 'viewer' }),
    },
    changeRole: {
      action: 'member.role',
      async prepare() {
        const { user_id } = await app().makeUser('member')
        return () => app().request('PATCH', `${base()}/members/${user_id}`, { body: { role: 'admin' } })
      },
    },
    removeMember: {
      action: 'member.remove',
      async prepare() {
        const { user_id } = await app().makeUser('member')
        return () => app().request('DELETE', `${base()}/members/${user_id}`)
      },
    },
    linkInvitation: {
      action: 'invitation.link',
      prepare: async () => inBrowser(`${base()}/invitations/${(await invited()).invitation_id}/link`),
    },
    revokeInvitation: {
      action: 'invitation.revoke',
      async prepare() {
        const { invitation_id } = await invited()
        return () => app().request('DELETE', `${base()}/invitations/${invitation_id}`)
      },
    },
    acceptInvitation: {
      action: 'member.add',
      async prepare() {
        const other = await app().makeUser('owner', 'own')
        const { token } = other
        const me = await app().request<{ account: { account_id: string } }>('GET', '/v1/accounts/me', { token })
        const path = `/v1/accounts/${me.body.account.account_id}/members`
        const theirs = { token: null, headers: await app().browser(other.user_id) }
        const body = { email: `${randomUUID()}@example.test` }
        const code = (await app().request<Invited>('POST', path, { ...theirs, body })).body.sign_in.url.split('#')[1]!
        return inBrowser('/v1/invitations/accept', { code })
      },
    },
  }
}
