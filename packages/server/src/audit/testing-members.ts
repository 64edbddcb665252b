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
  return {
    createAccount: {
      action: 'account.create',
      async prepare() {
        return () => app().request('POST', '/v1/accounts', { body: { name: 'Another team' } })
      },
    },
    updateAccount: {
      action: 'account.update',
      async prepare() {
        const body = { name: `A name ${randomUUID()}` }
        return () => app().request('PATCH', base(), { body })
      },
    },
    addMember: {
      action: 'invitation.create',
      async prepare() {
        const body = { email: `${randomUUID()}@example.test`, role: 'viewer' }
        return () => app().request('POST', `${base()}/members`, { body })
      },
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
      async prepare() {
        const { invitation_id } = await invited()
        const headers = await app().browser()
        return () => app().request('POST', `${base()}/invitations/${invitation_id}/link`, { token: null, headers })
      },
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
        const headers = await app().browser()
        return () => app().request('POST', '/v1/invitations/accept', { token: null, headers, body: { code } })
      },
    },
  }
}
