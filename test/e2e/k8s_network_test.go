package e2e

import (
	"fmt"
	"iter"
	"net/netip"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// peer is the other end of a connection: an address, and labels if it is a pod.
type peer struct {
	addr      string
	namespace labels.Set
	pod       labels.Set
}

func inNamespace(name string, pod labels.Set) peer {
	return peer{addr: "10.0.0.7", namespace: labels.Set{"kubernetes.io/metadata.name": name}, pod: pod}
}

var (
	dns       = inNamespace("kube-system", labels.Set{"k8s-app": "kube-dns"})
	bots      = peer{addr: "10.0.0.7", namespace: labels.Set{"kubernetes.io/metadata.name": "bots", "reverie-client": "true"}, pod: labels.Set{"app": "bot"}}
	metrics   = inNamespace("monitoring", labels.Set{"app.kubernetes.io/name": "prometheus"})
	neighbor  = inNamespace("reverie", labels.Set{"app.kubernetes.io/name": "reverie"})
	elsewhere = inNamespace("default", labels.Set{"k8s-app": "kube-dns"})
)

var (
	components = []string{"migrate", "evolve", "extract", "dream", "maintain", "pull", "tools", "daemon", "backfill", "api"}
	askers     = []string{"evolve", "extract", "dream", "pull", "tools", "daemon", "backfill", "api"} // of models, or servers of chats
)

// connections are what each component may and may not do: "in" to it, "out" of it.
var connections = []struct {
	direction string
	peer      peer
	protocol  corev1.Protocol
	port      int32
	allowed   []string // components
}{
	{"out", dns, corev1.ProtocolUDP, 53, components},
	{"out", dns, corev1.ProtocolTCP, 53, components},
	{"out", elsewhere, corev1.ProtocolUDP, 53, nil},
	{"out", inNamespace("kube-system", nil), corev1.ProtocolUDP, 53, nil},
	{"out", peer{addr: "8.8.8.8"}, corev1.ProtocolUDP, 53, nil},

	{"out", peer{addr: "10.1.2.3"}, corev1.ProtocolTCP, 5432, components},
	{"out", peer{addr: "203.0.113.9"}, corev1.ProtocolTCP, 5432, components},
	{"out", peer{addr: "10.1.2.3"}, corev1.ProtocolUDP, 5432, nil},
	{"out", peer{addr: "10.1.2.3"}, corev1.ProtocolTCP, 22, nil},

	{"out", peer{addr: "203.0.113.9"}, corev1.ProtocolTCP, 443, askers},
	{"out", peer{addr: "2600:1901::1"}, corev1.ProtocolTCP, 443, askers},
	{"out", peer{addr: "203.0.113.9"}, corev1.ProtocolTCP, 80, nil},
	{"out", peer{addr: "203.0.113.9"}, corev1.ProtocolUDP, 443, nil},
	{"out", peer{addr: "10.96.0.1"}, corev1.ProtocolTCP, 443, nil}, // the Kubernetes API
	{"out", peer{addr: "172.31.255.255"}, corev1.ProtocolTCP, 443, nil},
	{"out", peer{addr: "192.168.1.1"}, corev1.ProtocolTCP, 443, nil},
	{"out", peer{addr: "100.100.100.200"}, corev1.ProtocolTCP, 443, nil}, // a cloud's metadata
	{"out", peer{addr: "169.254.169.254"}, corev1.ProtocolTCP, 443, nil}, // the others' metadata
	{"out", peer{addr: "127.0.0.1"}, corev1.ProtocolTCP, 443, nil},
	{"out", peer{addr: "fd00:ec2::254"}, corev1.ProtocolTCP, 443, nil}, // metadata over IPv6
	{"out", peer{addr: "fe80::1"}, corev1.ProtocolTCP, 443, nil},
	{"out", neighbor, corev1.ProtocolTCP, 443, nil},

	{"in", metrics, corev1.ProtocolTCP, 8470, []string{"daemon", "api"}},
	{"in", bots, corev1.ProtocolTCP, 8470, []string{"api"}},
	{"in", bots, corev1.ProtocolTCP, 443, nil},
	{"in", metrics, corev1.ProtocolTCP, 9090, nil},
	{"in", neighbor, corev1.ProtocolTCP, 8470, nil},
	{"in", elsewhere, corev1.ProtocolTCP, 8470, nil},
	{"in", peer{addr: "203.0.113.9"}, corev1.ProtocolTCP, 8470, nil},
}

// wrongConnections are those that the policies allow or refuse against the table.
func wrongConnections(t *testing.T, policies []*networkingv1.NetworkPolicy) iter.Seq[string] {
	t.Helper()
	return func(yield func(string) bool) { tellWrong(t, policies, yield) }
}

// isRight tells whether there is none.
func isRight(t *testing.T, policies []*networkingv1.NetworkPolicy) bool {
	t.Helper()
	for range wrongConnections(t, policies) {
		return false
	}
	return true
}

func tellWrong(t *testing.T, policies []*networkingv1.NetworkPolicy, yield func(string) bool) {
	t.Helper()
	for _, c := range connections {
		for _, component := range components {
			pod := labels.Set{"app.kubernetes.io/name": "reverie", "app.kubernetes.io/component": component}
			if got := permits(t, policies, pod, c.direction, c.peer, c.protocol, c.port); got != slices.Contains(c.allowed, component) &&
				!yield(fmt.Sprintf("%s %s of %s, %s %d: allowed is %t", component, c.direction, c.peer.addr, c.protocol, c.port, got)) {
				return
			}
		}
	}
	// A pod of somebody else in the namespace may do nothing.
	if permits(t, policies, labels.Set{"app": "other"}, "out", peer{addr: "203.0.113.9"}, corev1.ProtocolTCP, 443) {
		yield("a strange pod in the namespace reaches the internet")
	}
}

func TestNetworkPolicies(t *testing.T) {
	t.Parallel()
	all := of[*networkingv1.NetworkPolicy](append(manifests(t, "daemon"), manifests(t, "api")...))
	read := func() []*networkingv1.NetworkPolicy {
		var copies []*networkingv1.NetworkPolicy
		for _, p := range all {
			copies = append(copies, p.DeepCopy())
		}
		return copies
	}
	for wrong := range wrongConnections(t, read()) {
		t.Error(wrong)
	}
	for i, p := range read() {
		if policies := slices.Delete(read(), i, i+1); isRight(t, policies) {
			t.Errorf("nobody notices that the policy %s is gone", p.Name)
		}
		for e, rule := range p.Spec.Egress {
			for n, to := range rule.To {
				if to.IPBlock == nil {
					continue
				}
				for x, except := range to.IPBlock.Except {
					policies := read()
					block := policies[i].Spec.Egress[e].To[n].IPBlock
					block.Except = slices.Delete(block.Except, x, x+1)
					if isRight(t, policies) {
						t.Errorf("nobody notices that %s is reached", except)
					}
				}
			}
		}
	}
}

// permits tells whether policies let a pod connect, by the rules of Kubernetes: a
// pod that no policy selects may do anything, any other what one of them allows.
func permits(t *testing.T, policies []*networkingv1.NetworkPolicy, pod labels.Set, direction string, p peer, protocol corev1.Protocol, port int32) bool {
	t.Helper()
	kind := map[string]networkingv1.PolicyType{"in": networkingv1.PolicyTypeIngress, "out": networkingv1.PolicyTypeEgress}[direction]
	selected, allowed := false, false
	for _, policy := range policies {
		if !slices.Contains(policy.Spec.PolicyTypes, kind) || !selects(t, &policy.Spec.PodSelector, pod) {
			continue
		}
		selected = true
		if direction == "in" {
			for _, r := range policy.Spec.Ingress {
				allowed = allowed || reaches(t, r.From, p) && listens(r.Ports, protocol, port)
			}
			continue
		}
		for _, r := range policy.Spec.Egress {
			allowed = allowed || reaches(t, r.To, p) && listens(r.Ports, protocol, port)
		}
	}
	return !selected || allowed
}

func reaches(t *testing.T, peers []networkingv1.NetworkPolicyPeer, p peer) bool {
	t.Helper()
	return len(peers) == 0 || slices.ContainsFunc(peers, func(x networkingv1.NetworkPolicyPeer) bool {
		if b := x.IPBlock; b != nil {
			return inside(t, b.CIDR, p.addr) && !slices.ContainsFunc(b.Except, func(cidr string) bool { return inside(t, cidr, p.addr) })
		}
		return x.NamespaceSelector != nil && p.namespace != nil && selects(t, x.NamespaceSelector, p.namespace) &&
			(x.PodSelector == nil || selects(t, x.PodSelector, p.pod))
	})
}

func listens(ports []networkingv1.NetworkPolicyPort, protocol corev1.Protocol, port int32) bool {
	return len(ports) == 0 || slices.ContainsFunc(ports, func(x networkingv1.NetworkPolicyPort) bool {
		return is(x.Protocol, protocol) && (x.Port == nil || x.Port.IntVal == port) && x.EndPort == nil
	})
}

func inside(t *testing.T, cidr, addr string) bool {
	t.Helper()
	prefix, err := netip.ParsePrefix(cidr)
	if err != nil || prefix != prefix.Masked() {
		t.Fatalf("%s is no network: %v", cidr, err)
	}
	return prefix.Contains(netip.MustParseAddr(addr))
}

func selects(t *testing.T, s *metav1.LabelSelector, set labels.Set) bool {
	t.Helper()
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		t.Fatal(err)
	}
	return selector.Matches(set)
}
