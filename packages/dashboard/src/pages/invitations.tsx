import { Read } from '../components/requests.tsx'
import { InvitationText, Join } from '../components/sign-in/join.tsx'
import { receivedInvitations } from './account/queries.ts'

/** For a single sign-on user without an account. */
export function InvitationsPage() {
  return (
    <main className="mx-auto flex max-w-md flex-col gap-6 px-4 py-16">
      <h1 className="text-2xl font-semibold">Invitations</h1>
      <Read query={receivedInvitations} what="your invitations">
        {({ invitations }) =>
          invitations.length === 0 ? (
            <p>No invitations. Ask an owner of an account to invite you.</p>
          ) : (
            <ul className="flex flex-col gap-4">
              {invitations.map((each) => (
                <li key={each.invitation_id} className="flex flex-col gap-2">
                  <InvitationText invitation={each} />
                  <Join by={{ invitation_id: each.invitation_id }} label={`Join ${each.account_name}`} />
                </li>
              ))}
            </ul>
          )
        }
      </Read>
    </main>
  )
}
