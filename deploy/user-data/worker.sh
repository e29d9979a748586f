#!/bin/sh
# User data of a worker: joins K3s with an identity that drover can check. Nothing secret stands here: the token comes from SSM, through the
# instance's own role (deploy/iam/worker-policy.json). Fill in the four values, or let your template do it.
set -eu
K3S_URL=${K3S_URL:-https://SERVER:6443}
K3S_VERSION=${K3S_VERSION:-v1.36.4+k3s1}
TOKEN_PARAMETER=${TOKEN_PARAMETER:-/CLUSTER/k3s-token}
CA_SHA256=${CA_SHA256:-} # optional: of the server's CA, to pin it beyond what the token does

# Instance metadata, version 2 only.
imds=http://169.254.169.254/latest
session=$(curl -fsS -X PUT -H 'X-aws-ec2-metadata-token-ttl-seconds: 300' "$imds/api/token")
meta() { curl -fsS -H "X-aws-ec2-metadata-token: $session" "$imds/meta-data/$1"; }
id=$(meta instance-id)
zone=$(meta placement/availability-zone)
region=$(meta placement/region)
type=$(meta instance-type)
name=$(meta local-hostname | cut -d. -f1)

token=$(aws ssm get-parameter --region "$region" --name "$TOKEN_PARAMETER" --with-decryption --query Parameter.Value --output text)

if [ -n "$CA_SHA256" ]; then
    # The server's CA is public; what matters is that it is the right one.
    host=${K3S_URL#https://}
    found=$(openssl s_client -connect "$host" -showcerts </dev/null 2>/dev/null |
        awk '/BEGIN CERT/ { block = "" } { block = block $0 "\n" } /END CERT/ { last = block } END { printf "%s", last }' |
        openssl x509 -outform der | sha256sum | cut -d' ' -f1)
    [ "$found" = "$CA_SHA256" ] || {
        echo "the server's CA is not the expected one" >&2
        exit 1
    }
fi

mkdir -p /etc/rancher/k3s
umask 077
printf '%s' "$token" >/etc/rancher/k3s/token
umask 022
# Provider id and label both name the instance: old K3s versions overwrite the provider id, people overwrite labels.
cat >/etc/rancher/k3s/config.yaml <<END
server: $K3S_URL
token-file: /etc/rancher/k3s/token
node-name: $name
kubelet-arg:
  - provider-id=aws:///$zone/$id
node-label:
  - drover.dev/instance-id=$id
  - topology.kubernetes.io/zone=$zone
  - topology.kubernetes.io/region=$region
  - node.kubernetes.io/instance-type=$type
END

# K3s from its releases, compared with their checksums; an image that has it already skips this.
if ! command -v k3s >/dev/null; then
    release=https://github.com/k3s-io/k3s/releases/download/$(printf '%s' "$K3S_VERSION" | sed 's/+/%2B/')
    case $(uname -m) in
    aarch64) binary=k3s-arm64 sums=sha256sum-arm64.txt ;;
    *) binary=k3s sums=sha256sum-amd64.txt ;;
    esac
    cd /usr/local/bin
    curl -fsSLO "$release/$binary"
    curl -fsSL "$release/$sums" | grep " $binary\$" | sha256sum -c -
    [ "$binary" = k3s ] || mv "$binary" k3s
    chmod 755 k3s
fi

cat >/etc/systemd/system/k3s-agent.service <<'END'
[Unit]
Description=K3s agent
Wants=network-online.target
After=network-online.target

[Service]
Type=notify
ExecStart=/usr/local/bin/k3s agent
KillMode=process
Delegate=yes
LimitNOFILE=1048576
LimitNPROC=infinity
LimitCORE=infinity
TasksMax=infinity
Restart=always
RestartSec=5s

[Install]
WantedBy=multi-user.target
END
systemctl daemon-reload
systemctl enable --now k3s-agent
