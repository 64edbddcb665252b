import { useSend } from '../../components/requests.tsx'
import { Tokens } from '../../components/tokens.tsx'
import { userTokens } from './queries.ts'
import { Page } from '../../ui/layout.tsx'

const refetch = [userTokens.queryKey]

export function UserTokensPage() {
  const mint = useSend('POST', '/v1/accounts/tokens', { refetch })
  const ofToken = (tokenId: string) => ({ path: { tokenId } })
  const revoke = useSend('DELETE', '/v1/accounts/tokens/{tokenId}', { request: ofToken, refetch })
  return (
    <Page title="Your tokens">
      <Tokens list={userTokens} command="svc tokens create --name laptop" mint={mint} revoke={revoke} />
    </Page>
  )
}
