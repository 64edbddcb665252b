import { api, reply } from '../../api.ts'
import { Tokens } from '../../components/tokens.tsx'
import { userTokens } from '../../queries.ts'

export function UserTokensPage() {
  return (
    <div className="flex flex-col gap-6">
      <h1 className="text-xl font-semibold">Your tokens</h1>
      <Tokens
        list={userTokens}
        command="svc tokens create --name laptop"
        mint={(body) => reply(api.POST('/v1/accounts/tokens', { body }))}
        revoke={(tokenId) => reply(api.DELETE('/v1/accounts/tokens/{tokenId}', { params: { path: { tokenId } } }))}
      />
    </div>
  )
}
