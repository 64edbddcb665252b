import { api, reply } from '../../api.ts'
import { Tokens } from '../../components/tokens.tsx'
import { userTokens } from './queries.ts'
import { Page } from '../../ui/page.tsx'

export function UserTokensPage() {
  return (
    <Page title="Your tokens">
      <Tokens
        list={userTokens}
        command="svc tokens create --name laptop"
        mint={(body) => reply(api.POST('/v1/accounts/tokens', { body }))}
        revoke={(tokenId) => reply(api.DELETE('/v1/accounts/tokens/{tokenId}', { params: { path: { tokenId } } }))}
      />
    </Page>
  )
}
