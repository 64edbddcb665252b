import { Read } from '../../components/requests.tsx'
import { ManifestIssues } from '../../components/manifest-issues.tsx'
import { useProject } from '../../components/shell/project-shell.tsx'
import { channels } from './queries.ts'
import { ChannelCard } from './channel.tsx'
import { ConnectChannel } from './connect.tsx'
import { Page } from '../../ui/layout.tsx'

export function ChannelsPage() {
  return (
    <Page title="Channels">
      <Read query={channels(useProject().project_id)} what="channels">
        {({ channels, errors, setup }) => (
          <>
            <ManifestIssues bySeverity issues={errors.map((issue) => ({ ...issue, line: null }))} />
            {channels.map((channel) => (
              <ChannelCard key={channel.channel_id} channel={channel} />
            ))}
            {setup.map((each) => (
              <ConnectChannel key={each.platform} setup={each} isFirst={channels.length === 0} />
            ))}
          </>
        )}
      </Read>
    </Page>
  )
}
